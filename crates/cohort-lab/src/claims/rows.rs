//! The rows, paper by paper.

mod clof;
mod cohorting;
mod glk;
mod hmcs_t;
mod sanl;

use super::Claim;

/// The number of rows.
const COUNT: usize = cohorting::ROWS.len()
    + sanl::ROWS.len()
    + clof::ROWS.len()
    + hmcs_t::ROWS.len()
    + glk::ROWS.len();

/// Every row.
pub static CLAIMS: &[Claim] = &{
    let papers = [
        cohorting::ROWS,
        sanl::ROWS,
        clof::ROWS,
        hmcs_t::ROWS,
        glk::ROWS,
    ];
    let mut all = [papers[0][0]; COUNT];
    let (mut paper, mut place) = (0, 0);
    while paper < papers.len() {
        let mut row = 0;
        while row < papers[paper].len() {
            all[place] = papers[paper][row];
            place += 1;
            row += 1;
        }
        paper += 1;
    }
    all
};
