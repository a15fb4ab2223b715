/* What the first program's image starts, below dist/enclave/. */
#define MAIN "main.js"
#define VERIFIER "verifier.js"
