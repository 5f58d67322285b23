//! A small stock database modelled on TPC-C's: districts take orders of their customers, orders
//! have lines, lines name items, items are in stock.

use super::library::{Environment, Move, Table};
use std::collections::HashSet;

/// The number of districts.
pub const DISTRICTS: u32 = 10;

/// The number of customers of each district.
pub const CUSTOMERS: u32 = 100;

const ORDERS: u32 = 300;
const LINES: u32 = 10;
const ITEMS: u32 = 10_000;

/// The number of a district's last orders that the stock level examines, as in TPC-C.
const LAST_ORDERS: u32 = 20;

/// Quantity below which an item is short.
const THRESHOLD: u64 = 15;

/// The tables.
pub struct Stock<'a> {
    /// District to number of orders.
    districts: Table<'a>,
    /// District, customer, order to an irrelevant value.
    orders: Table<'a>,
    /// District, order, line to item.
    lines: Table<'a>,
    /// Item to quantity.
    stock: Table<'a>,
}

impl<'a> Stock<'a> {
    /// Creates and fills the tables.
    ///
    /// # Errors
    /// The library's error.
    pub fn fill(environment: &'a Environment<'a>) -> Result<Self, String> {
        let all = Self {
            districts: environment.table()?,
            orders: environment.table()?,
            lines: environment.table()?,
            stock: environment.table()?,
        };
        for item in 0..ITEMS {
            let quantity = 10 + scattered(item) % 91;
            all.stock.put(key(item, 0, 0), quantity.to_be_bytes())?;
        }
        for district in 0..DISTRICTS {
            let count = u64::from(ORDERS);
            all.districts
                .put(key(district, 0, 0), count.to_be_bytes())?;
            for order in 0..ORDERS {
                let customer = order % CUSTOMERS;
                all.orders.put(key(district, customer, order), [0; 8])?;
                for line in 0..LINES {
                    let number = (district * ORDERS + order) * LINES + line;
                    let item = scattered(number) % u64::from(ITEMS);
                    all.lines
                        .put(key(district, order, line), item.to_be_bytes())?;
                }
            }
        }
        Ok(all)
    }

    /// The number of items of a district's last orders that are short.
    ///
    /// # Errors
    /// The library's error, or a missing record.
    pub fn stock_level(&self, district: u32) -> Result<usize, String> {
        let next = self
            .districts
            .get(key(district, 0, 0))?
            .ok_or("a district is lost")?;
        let next = u64::from_be_bytes(next) as u32;
        let first = key(district, next.saturating_sub(LAST_ORDERS), 0);
        let end = key(district, next, 0);
        let mut items = HashSet::new();
        let mut cursor = self.lines.cursor()?;
        let mut place = cursor.go(Move::Range, first)?;
        while let Some((at, item)) = place.filter(|(at, _)| *at < end) {
            items.insert(item);
            place = cursor.go(Move::Next, at)?;
        }
        let mut short = 0;
        for item in items {
            let item = u64::from_be_bytes(item) as u32;
            let quantity = self.stock.get(key(item, 0, 0))?.ok_or("an item is lost")?;
            short += usize::from(u64::from_be_bytes(quantity) < THRESHOLD);
        }
        Ok(short)
    }

    /// The number of lines of a customer's last order.
    ///
    /// # Errors
    /// The library's error, or the customer has no order.
    pub fn order_status(&self, district: u32, customer: u32) -> Result<usize, String> {
        let beyond = key(district, customer + 1, 0);
        let mut cursor = self.orders.cursor()?;
        // At the table's end, no key is beyond, and the previous record is the last one.
        cursor.go(Move::Range, beyond)?;
        let (last, _) = cursor
            .go(Move::Previous, beyond)?
            .ok_or("a customer has no order")?;
        drop(cursor);
        let order = u32::from_be_bytes([last[8], last[9], last[10], last[11]]);
        let end = key(district, order + 1, 0);
        let mut count = 0;
        let mut cursor = self.lines.cursor()?;
        let mut place = cursor.go(Move::Range, key(district, order, 0))?;
        while let Some((at, _)) = place.filter(|(at, _)| *at < end) {
            count += 1;
            place = cursor.go(Move::Next, at)?;
        }
        Ok(count)
    }
}

/// A key ordered as its parts.
fn key(first: u32, second: u32, third: u32) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&first.to_be_bytes());
    key[4..8].copy_from_slice(&second.to_be_bytes());
    key[8..].copy_from_slice(&third.to_be_bytes());
    key
}

/// A pseudo-random number, the same in each run.
fn scattered(number: u32) -> u64 {
    u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33
}

#[cfg(test)]
mod tests {
    use super::super::library;
    use super::*;

    #[test]
    fn answers_are_those_of_the_data() {
        let Ok(functions) = library::load() else {
            return;
        };
        let environment = Environment::open(&functions).unwrap();
        let stock = Stock::fill(&environment).unwrap();
        for customer in [0, 57, CUSTOMERS - 1] {
            let lines = stock.order_status(DISTRICTS - 1, customer).unwrap();
            assert_eq!(lines, LINES as usize);
        }
        let short = stock.stock_level(3).unwrap();
        let items = (LAST_ORDERS * LINES) as usize;
        assert!(short > 0 && short < items, "{short} of {items}");
    }

    #[test]
    fn keys_sort_by_their_parts() {
        assert!(key(1, 2, 3) < key(1, 2, 4));
        assert!(key(1, 2, 300) < key(1, 3, 0));
        assert!(key(1, 300, 0) < key(2, 0, 0));
    }
}
