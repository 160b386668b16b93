//! Launches of two sides, in the machine's frequent mode alone.

use kilter_model::plan::Subject;
use kilter_stats::modes::frequent;

use super::Medians;

/// The medians of both sides without launches in a rarer mode of the machine, and how many these are. Calls that are `unchanged` take the same time on
/// both sides, and so tell the mode of each launch; with fewer than two of them nothing is left out.
///
/// Both sides are launched in turn, and each launch may meet another mode: the difference of the modes would count as one of the sides.
#[must_use]
pub fn in_one_mode(
    (one, other): (&Medians, &Medians),
    unchanged: &dyn Fn(&Subject) -> bool,
) -> (Medians, Medians, usize) {
    let launches = |side: &Medians| side.values().map(Vec::len).max().unwrap_or(0);
    let (of_one, of_other) = (launches(one), launches(other));
    let both = one
        .iter()
        .filter(|(subject, _)| unchanged(subject))
        .filter_map(|(subject, own)| {
            let other = other.get(subject).filter(|other| other.len() == of_other)?;
            (own.len() == of_one).then(|| [own.as_slice(), other].concat())
        });
    let modes = frequent(&both.collect::<Vec<_>>(), of_one + of_other);
    let (modes_of_one, modes_of_other) = modes.split_at(of_one);
    let keep = |side: &Medians, modes: &[bool]| -> Medians {
        let kept = |medians: &Vec<f64>| {
            if medians.len() != modes.len() {
                return medians.clone();
            }
            let both = medians.iter().zip(modes);
            both.filter(|(_, is_kept)| **is_kept)
                .map(|(seconds, _)| *seconds)
                .collect()
        };
        side.iter()
            .map(|(subject, medians)| (subject.clone(), kept(medians)))
            .collect()
    };
    let left_out = modes.iter().filter(|is_kept| !**is_kept).count();
    (keep(one, modes_of_one), keep(other, modes_of_other), left_out)
}

#[cfg(test)]
mod tests {
    use kilter_algorithms::Collective;

    use super::*;

    fn side(rows: &[(Collective, &[f64])]) -> Medians {
        let row = |(collective, medians): &(Collective, &[f64])| (Subject::library(*collective, 8), medians.to_vec());
        rows.iter().map(row).collect()
    }

    #[test]
    fn a_mode_that_one_side_meets_more_often_is_no_difference_of_the_sides() {
        let untouched = side(&[
            (Collective::Bcast, &[1.0, 1.0, 1.01, 2.0]),
            (Collective::Gather, &[3.0, 3.0, 3.0, 6.0]),
            (Collective::Reduce, &[4.0, 4.0, 4.0, 8.0]),
        ]);
        let deployed = side(&[
            (Collective::Bcast, &[2.0, 1.0, 2.0, 1.0]),
            (Collective::Gather, &[6.0, 3.0, 6.0, 3.0]),
            (Collective::Reduce, &[6.0, 3.0, 6.1, 3.0]),
        ]);
        let reduce = Subject::library(Collective::Reduce, 8);
        let (one, other, left_out) = in_one_mode((&untouched, &deployed), &|subject| *subject != reduce);
        assert_eq!(
            (one[&reduce].as_slice(), other[&reduce].as_slice()),
            (&[4.0; 3][..], &[3.0; 2][..])
        );
        assert_eq!(left_out, 3);
        let (_, other, left_out) = in_one_mode((&untouched, &deployed), &|_| false);
        assert_eq!((other[&reduce].len(), left_out), (4, 0), "nothing tells the modes");
    }
}
