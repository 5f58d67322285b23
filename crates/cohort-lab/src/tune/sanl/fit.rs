//! A quadratic through scattered points.

/// The least-squares quadratic through these points, constant coefficient first; a line for two
/// distinct abscissae, a constant for one; none without points.
pub(super) fn quadratic(points: &[(f64, f64)]) -> Option<[f64; 3]> {
    let mut places: Vec<f64> = points.iter().map(|(x, _)| *x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    let terms = places.len().min(3);
    let mut rows = [[0.0; 4]; 3];
    for (x, y) in points {
        let powers = [1.0, *x, x * x];
        for (row, power) in rows.iter_mut().zip(powers) {
            for (cell, other) in row.iter_mut().zip(powers) {
                *cell += power * other;
            }
            row[3] += power * y;
        }
    }
    solve(&mut rows, terms)
}

/// The solution of the first `terms` equations in as many unknowns; the last cell of each row is
/// its right side.
fn solve(rows: &mut [[f64; 4]; 3], terms: usize) -> Option<[f64; 3]> {
    if terms == 0 {
        return None;
    }
    for at in 0..terms {
        let greatest = (at..terms)
            .max_by(|one, other| rows[*one][at].abs().total_cmp(&rows[*other][at].abs()))?;
        rows.swap(at, greatest);
        let pivot = rows[at];
        for (number, row) in rows.iter_mut().enumerate().take(terms) {
            if number != at {
                let factor = row[at] / pivot[at];
                for (cell, of_pivot) in row.iter_mut().zip(pivot) {
                    *cell -= factor * of_pivot;
                }
            }
        }
    }
    let mut solution = [0.0; 3];
    for (at, value) in solution.iter_mut().enumerate().take(terms) {
        // Avoids a negative zero.
        *value = rows[at][3] / rows[at][at] + 0.0;
    }
    solution
        .iter()
        .all(|value| value.is_finite())
        .then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<[f64; 3]>, expected: [f64; 3]) {
        let found = found.unwrap();
        let close = found
            .iter()
            .zip(expected)
            .all(|(one, other)| (one - other).abs() < 1e-6);
        assert!(close, "{found:?} {expected:?}");
    }

    #[test]
    fn a_quadratic_is_found_again() {
        let of = |x: f64| 3.0 - 2.0 * x + 0.5 * x * x;
        let points: Vec<(f64, f64)> = (1..12).map(f64::from).map(|x| (x, of(x))).collect();
        near(quadratic(&points), [3.0, -2.0, 0.5]);
    }

    #[test]
    fn few_points_have_fewer_terms() {
        near(quadratic(&[(1.0, 4.0), (3.0, 8.0)]), [2.0, 2.0, 0.0]);
        near(quadratic(&[(2.0, 4.0), (2.0, 8.0)]), [6.0, 0.0, 0.0]);
        assert_eq!(quadratic(&[]), None);
    }
}
