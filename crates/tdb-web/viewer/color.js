// Colours of values: ramps from low to high, and colours of categories.

// The polynomials by which `tdb show` draws viridis (crates/tdb-draw/src/color.rs), constant terms
// first.
const VIRIDIS = [
  [0.2777273272234177, 0.005407344544966578, 0.3340998053353061],
  [0.1050930431085774, 1.404613529898575, 1.384590162594685],
  [-0.3308618287255563, 0.214847559468213, 0.09509516302823659],
  [-4.634230498983486, -5.799100973351585, -19.33244095627987],
  [6.228269936347081, 14.17993336680509, 56.69055260068105],
  [4.776384997670288, -13.74514537774601, -65.35303263337234],
  [-5.435455855934631, 4.645852612178535, 26.3124352495832],
];

function viridis(share) {
  let rgb = [0, 0, 0];
  for (const terms of VIRIDIS.toReversed()) rgb = rgb.map((part, at) => part * share + terms[at]);
  return rgb.map((part) => Math.round(255 * Math.min(1, Math.max(0, part))));
}

/**
 * A colour of the space OKLCH (lightness, chroma, hue in degrees) in sRGB; what sRGB lacks is cut.
 */
export function oklch(lightness, chroma, hue) {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const n = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * n,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * n,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * n,
  ];
  return linear.map((part) => {
    const cut = Math.min(1, Math.max(0, part));
    const curved = cut <= 0.0031308 ? 12.92 * cut : 1.055 * cut ** (1 / 2.4) - 0.055;
    return Math.round(255 * curved);
  });
}

const mix = (from, to, share) => from + (to - from) * share;

// In equal steps of lightness, so that equal steps of a value look equally large.
const embers = (share) =>
  oklch(mix(0.15, 0.96, share), 0.17 * Math.sin(Math.PI * share ** 0.9), mix(-60, 100, share));
const grey = (share) => oklch(mix(0.12, 0.98, share), 0, 0);
const balance = (share) => {
  const away = Math.abs(2 * share - 1);
  return oklch(
    mix(0.95, 0.38, away ** 1.1),
    0.16 * Math.sin((Math.PI / 2) * Math.min(1, away * 1.3)),
    share < 0.5 ? 250 : 30,
  );
};
const blues = (share) => oklch(mix(0.9, 0.32, share), mix(0.04, 0.13, share), 250);
const bluesOnDark = (share) =>
  oklch(mix(0.34, 0.95, share), mix(0.09, 0.07, share), mix(255, 210, share));

/** The ramps that one can choose, by name. */
export const RAMPS = {
  viridis: { text: 'Viridis', of: viridis },
  embers: { text: 'Embers', of: embers },
  grey: { text: 'Grey', of: grey },
  balance: { text: 'Balance (two sides)', of: balance },
};

const LEVELS = 256;
const made = new Map();

/** A ramp as 256 colours, four bytes each. */
export function levels(name, dark = false) {
  const key = `${name} ${dark}`;
  if (!made.has(key)) {
    const of =
      name === 'density' ? (dark ? bluesOnDark : blues) : (RAMPS[name] ?? RAMPS.viridis).of;
    const bytes = new Uint8ClampedArray(LEVELS * 4);
    for (let level = 0; level < LEVELS; level += 1)
      bytes.set([...of(level / (LEVELS - 1)), 255], level * 4);
    made.set(key, bytes);
  }
  return made.get(key);
}

/** The number of the level of a value between two bounds; -1 if it is no number. */
export function level(value, low, high) {
  if (!(value === value)) return -1;
  if (!(high > low)) return 127;
  const share = (value - low) / (high - low);
  return share <= 0 ? 0 : share >= 1 ? 255 : Math.floor(share * 256);
}

// Neighbours differ in hue and in lightness, so that they differ for the colour-blind, too.
const HUES = [255, 45, 150, 20, 310, 95, 200, 350, 125, 280, 70, 230];

/** The colour of the n-th category, as in CSS. */
export function category(number, dark = false) {
  const round = Math.floor(number / HUES.length);
  const lightness = (dark ? [0.72, 0.82, 0.66] : [0.56, 0.66, 0.48])[(number + round) % 3];
  const [red, green, blue] = oklch(
    lightness,
    0.15 - 0.04 * (round % 3),
    HUES[number % HUES.length] + 12 * round,
  );
  return `rgb(${red} ${green} ${blue})`;
}
