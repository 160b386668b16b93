//! Colours of the maps, in even steps from 0 to 1: the paper's palette, and one that every eye can order.
//!
//! The paper's is the one that gnuplot draws with unless told otherwise, from black over purple and red to yellow, its three channels
//! the functions sqrt x, x^3 and sin 2 pi x (`rgbformulae 7,5,15`). Its lightness rises, falls and rises again, and red on black is
//! lost on some eyes. The other one goes from dark blue over grey to yellow on a straight line in Oklab (Ottosson, A perceptual color
//! space for image processing, 2020, <https://bottosson.github.io/posts/oklab/>): lightness rises evenly, and blue and yellow stay apart
//! without red or green receptors, as in cividis (Nunez, Anderton, Renslow, PLOS ONE 13(7), 2018, doi:10.1371/journal.pone.0199239).

use std::fmt::Write as _;

/// Number of colours of a palette: one for each 0.05 of the ratio, whose scale ends at 2.
pub(super) const STEPS: usize = 41;

/// Step of a share of the scale; shares outside are cropped.
pub(super) fn step(share: f64) -> usize {
    (share.clamp(0.0, 1.0) * (STEPS - 1) as f64).round() as usize
}

/// Red, green and blue of a share of the scale.
type Palette = fn(f64) -> [u8; 3];

/// Black, purple, red, yellow.
fn paper(share: f64) -> [u8; 3] {
    let channels = [share.sqrt(), share.powi(3), (2.0 * std::f64::consts::PI * share).sin()];
    channels.map(byte)
}

/// Lightness and the two colour axes of Oklab at either end.
const BLUE: [f64; 3] = [0.25, -0.01, -0.10];
const YELLOW: [f64; 3] = [0.92, -0.03, 0.17];

/// Dark blue, grey, yellow.
fn ordered(share: f64) -> [u8; 3] {
    let [lightness, a, b]: [f64; 3] = std::array::from_fn(|axis| BLUE[axis] + share * (YELLOW[axis] - BLUE[axis]));
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548 * b).powi(3);
    let linear = [
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701 * s,
    ];
    // The transfer function of sRGB, IEC 61966-2-1.
    let encoded = |channel: f64| match channel.clamp(0.0, 1.0) {
        dark if dark <= 0.003_130_8 => 12.92 * dark,
        light => 1.055 * light.powf(1.0 / 2.4) - 0.055,
    };
    linear.map(encoded).map(byte)
}

fn byte(channel: f64) -> u8 {
    (255.0 * channel.clamp(0.0, 1.0)).round() as u8
}

/// Style rules: a class `q<step>` for each step, and the two palettes behind it. The second palette applies after a
/// checked element with the id `overlap-ordered`.
pub(super) fn style() -> String {
    let mut css = String::new();
    let mut variables = |selector: &str, palette: Palette| {
        let _ = write!(css, "{selector}{{");
        for step in 0..STEPS {
            let [red, green, blue] = palette(step as f64 / (STEPS - 1) as f64);
            let _ = write!(css, "--q{step}:#{red:02x}{green:02x}{blue:02x};");
        }
        css.push_str("}\n");
    };
    variables(".overlap", paper);
    variables("#overlap-ordered:checked~.maps", ordered);
    for step in 0..STEPS {
        let _ = write!(css, ".q{step}{{fill:var(--q{step})}}");
    }
    css.push('\n');
    css
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance, WCAG 2.
    fn luminance(colour: [u8; 3]) -> f64 {
        let [red, green, blue] = colour.map(|byte| (f64::from(byte) / 255.0).powf(2.2));
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    #[test]
    fn the_paper_s_colours_stand_where_the_paper_says() {
        assert_eq!(paper(0.0), [0, 0, 0], "perfect overlap is black");
        let [red, green, blue] = paper(0.15);
        assert!(blue > red && red > 90 && green < 10, "some overlap is purple");
        let [red, green, blue] = paper(0.5);
        assert!(red > 170 && green < 40 && blue == 0, "none is red");
        assert_eq!(paper(1.0), [255, 255, 0], "twice as bad is yellow");
    }

    #[test]
    fn the_other_palette_can_be_ordered_by_lightness_and_by_blue_against_yellow() {
        let colours: Vec<[u8; 3]> = (0..STEPS).map(|step| ordered(step as f64 / 40.0)).collect();
        for pair in colours.windows(2) {
            assert!(luminance(pair[0]) < luminance(pair[1]), "{pair:?}");
            let yellowness = |colour: [u8; 3]| i32::from(colour[1]) - i32::from(colour[2]);
            assert!(yellowness(pair[0]) <= yellowness(pair[1]), "{pair:?}");
            // No green stands against red, which some eyes cannot tell apart.
            assert!(pair.iter().all(|colour| colour[0].abs_diff(colour[1]) < 60), "{pair:?}");
        }
        let paper: Vec<f64> = (0..STEPS).map(|step| luminance(paper(step as f64 / 40.0))).collect();
        assert!(!paper.is_sorted(), "which is why there are two");
    }

    #[test]
    fn steps_cover_the_scale_and_crop_beyond() {
        assert_eq!([-0.3, 0.0, 0.5, 1.0, 7.0].map(step), [0, 0, 20, 40, 40]);
        let css = style();
        assert_eq!(css.matches("--q40:#").count(), 2);
        assert_eq!(css.matches("{fill:var(--q").count(), STEPS);
    }
}
