//! The last minute of a figure, a value a second.

use std::collections::VecDeque;

/// Seconds that are kept.
pub const SECONDS: usize = 60;

/// Values of the last [`SECONDS`] seconds, the newest last; NaN where nobody looked.
#[derive(Clone, Debug, Default)]
pub struct History(VecDeque<f32>);

// === impl History ===

impl History {
    /// `seconds` have passed since the last value (0: this one is of the same second and takes its place). Those between were
    /// as the last one if the figure was looked at all along, else unknown.
    pub fn push(&mut self, seconds: u64, watched: bool, value: f64) {
        if seconds == 0 {
            self.0.pop_back();
        }
        let between = if watched { self.0.back().copied().unwrap_or(f32::NAN) } else { f32::NAN };
        // More than all of them are past at once after a long pause.
        let skipped = usize::try_from(seconds.saturating_sub(1)).unwrap_or(SECONDS).min(SECONDS);
        self.0.extend(std::iter::repeat_n(between, skipped));
        #[expect(clippy::cast_possible_truncation, reason = "a line of eighths needs no more")]
        self.0.push_back(value as f32);
        let excess = self.0.len().saturating_sub(SECONDS);
        self.0.drain(..excess);
    }

    /// The highest value.
    pub fn peak(&self) -> f32 {
        // `max` passes over NaN.
        self.0.iter().copied().fold(0.0, f32::max)
    }

    /// A line of `width` cells, at most [`SECONDS`], the newest on the right: of each cell's seconds the highest, in eighths
    /// of the peak. A dot is zero, a blank unknown.
    pub fn line(&self, width: usize) -> String {
        self.rows(width, 1).concat()
    }

    /// The same, `height` rows high, the top one first; none for 0.
    pub fn rows(&self, width: usize, height: usize) -> Vec<String> {
        const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let peak = self.peak();
        let filled: Vec<Option<usize>> =
            self.cells(width).into_iter().map(|cell| cell.map(|value| eighths(value, peak, 8 * height))).collect();
        let glyph = |filled: Option<usize>, below: usize| match filled {
            Some(0) if below == 0 => '·',
            Some(filled) => EIGHTHS[filled.saturating_sub(8 * below).min(8)],
            None => ' ',
        };
        (0..height).rev().map(|below| filled.iter().map(|filled| glyph(*filled, below)).collect()).collect()
    }

    fn cells(&self, width: usize) -> Vec<Option<f32>> {
        let width = width.clamp(1, SECONDS);
        let missing = SECONDS - self.0.len();
        let cell = |at: usize| {
            let seconds = at * SECONDS / width..(at + 1) * SECONDS / width;
            let known = seconds.filter_map(|second| self.0.get(second.checked_sub(missing)?));
            known.copied().filter(|value| !value.is_nan()).reduce(f32::max)
        };
        (0..width).map(cell).collect()
    }
}

/// Eighths of a cell, `whole` for the peak; a value above 0 has at least one.
fn eighths(value: f32, peak: f32, whole: usize) -> usize {
    if value <= 0.0 || peak <= 0.0 {
        return 0;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and `whole`")]
    let eighths = (value / peak * whole as f32).round() as usize;
    eighths.min(whole).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = f64>) -> History {
        let mut history = History::default();
        values.into_iter().for_each(|value| history.push(1, true, value));
        history
    }

    #[test]
    fn a_line_ends_with_now_and_is_scaled_to_its_peak() {
        let history = of((0..60).map(f64::from));
        assert_eq!(history.line(12), "▁▁▂▃▃▄▅▅▆▇▇█");
        assert_eq!(of([0.0, 0.0, 8.0, 4.0, 1.0]).line(60).trim_start(), "··█▄▁");
        assert_eq!(of([8.0]).line(12), format!("{}█", " ".repeat(11)), "what was before the view is unknown");
        assert_eq!(of([0.0, 0.0]).line(60).trim_start(), "··");
        assert_eq!(of([1.0, 1_000_000.0]).line(60).trim_start(), "▁█", "little is not nothing");
    }

    #[test]
    fn a_minute_is_kept() {
        let history = of((0..200).map(|second| if second == 120 { 1000.0 } else { 1.0 }));
        assert_eq!(history.0.len(), 60);
        assert!((history.peak() - 1.0).abs() < f32::EPSILON);
    }

    #[test]
    fn seconds_without_a_look_hold_the_last_value_or_are_unknown() {
        let mut history = of([8.0]);
        history.push(3, true, 4.0);
        assert_eq!(history.line(60).trim_start(), "███▄");
        history.push(0, true, 8.0);
        assert_eq!(history.line(60).trim_start(), "████", "the same second again");
        history.push(3, false, 8.0);
        assert_eq!(history.line(60).trim_start(), "████  █");
        history.push(u64::MAX, false, 2.0);
        assert_eq!(history.line(60).trim_start(), "█");
    }

    #[test]
    fn a_chart_stacks_rows() {
        let rows = of([0.0, 1.0, 2.0, 3.0, 4.0]).rows(60, 2);
        let shown: Vec<&str> = rows.iter().map(|row| &row[row.char_indices().nth(55).unwrap().0..]).collect();
        assert_eq!(shown, ["   ▄█", "·▄███"]);
    }
}
