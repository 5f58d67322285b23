//! Threads read a stock database as TPC-C's StockLevel and OrderStatus do, from
//! Berkeley DB 5.3, which is loaded where it is installed.

mod library;
mod stock;

use super::Outcome;
use super::crowd::{Crowd, Member};
use crate::progress::tell;
use library::Environment;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use stock::Stock;

/// Options of the load.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    crowd: Crowd,
    /// Percentage of stock-level transactions; the others are order-status transactions
    #[arg(long, value_name = "PERCENT", default_value_t = 20,
        value_parser = clap::value_parser!(u8).range(0..=100))]
    stock_level: u8,
}

/// Checks for the library.
///
/// # Errors
/// The reason why it cannot be loaded, and the package to install.
pub fn available() -> Result<(), String> {
    library::load().map(drop)
}

/// Runs the load; an operation is one transaction.
///
/// # Errors
/// The library is not installed, or refuses something.
pub fn run(options: &Options) -> Result<Outcome, String> {
    let library = library::load()?;
    let environment = Environment::open(&library)?;
    let stock = Stock::fill(&environment)?;
    let stock = &stock;
    options.crowd.run(false, |index| {
        let random = SmallRng::seed_from_u64(index as u64);
        Ok(move |member: &mut Member| ask(stock, options.stock_level, random.clone(), member))
    })
}

fn ask(stock: &Stock, stock_level: u8, mut random: SmallRng, member: &mut Member) {
    loop {
        let district = random.random_range(0..stock::DISTRICTS);
        let done = if random.random_range(0..100) < stock_level {
            stock.stock_level(district).map(drop)
        } else {
            let customer = random.random_range(0..stock::CUSTOMERS);
            stock.order_status(district, customer).map(drop)
        };
        if let Err(why) = done {
            // A load that cannot continue measures nothing.
            tell(format_args!("cohort: {why}"));
            std::process::exit(1);
        }
        if !member.goes_on() {
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_answered_where_the_library_is() {
        let options = Options {
            crowd: Crowd {
                threads: 3,
                seconds: 0.05,
            },
            stock_level: 20,
        };
        match available() {
            Ok(()) => assert!(run(&options).unwrap().operations > 0),
            Err(why) => assert!(why.contains("libdb-5.3"), "{why}"),
        }
    }
}
