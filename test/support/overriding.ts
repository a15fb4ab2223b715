/** The same object but for these members. What has private state is not spread into another object. */
export function overriding<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(name in members ? members : target, name);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}
