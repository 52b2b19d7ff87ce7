// Random choices that a seed fixes.

export class Random {
  #state;

  constructor(seed) {
    this.#state = (seed * 0x9e3779b1) >>> 0;
  }

  // 0 <= result < 1; the generator is mulberry32.
  fraction() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x100000000;
  }

  // 0 <= result < bound
  below(bound) {
    return Math.floor(this.fraction() * bound);
  }

  between(first, last) {
    return first + this.below(last - first + 1);
  }

  chance(percent) {
    return this.fraction() * 100 < percent;
  }

  of(list) {
    return list[this.below(list.length)];
  }

  // One of the keys of an object whose values are weights.
  weighted(weights) {
    const names = Object.keys(weights);
    let left = this.fraction() * names.reduce((sum, name) => sum + weights[name], 0);
    return names.find((name) => (left -= weights[name]) < 0) ?? names.at(-1);
  }

  // `count` different elements, or all of them.
  some(list, count) {
    const rest = [...list];
    const taken = [];
    while (taken.length < count && rest.length > 0) {
      taken.push(...rest.splice(this.below(rest.length), 1));
    }
    return taken;
  }
}
