/** The few pictures, drawn in the colour of the text. None says anything that its text does not. */
export function Mark() {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="#5145d6" />
      <path
        d="M9 24V15a7 7 0 0 1 14 0v9M16 24v-8"
        fill="none"
        stroke="#fff"
        stroke-width="2.6"
        stroke-linecap="round"
      />
    </svg>
  );
}

export function Eye() {
  return (
    <svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true" fill="none" stroke="currentColor">
      <path d="M1 8s2.6-4.5 7-4.5S15 8 15 8s-2.6 4.5-7 4.5S1 8 1 8Z" stroke-width="1.3" />
      <circle cx="8" cy="8" r="2" stroke-width="1.3" />
    </svg>
  );
}
