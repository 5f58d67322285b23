//! A figure with its unit and its source.

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::fmt;
use std::marker::PhantomData;

/// The source of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// Given by one of the five papers, or derived from them.
    Paper,
    /// Given by the vendor or another public document.
    Vendor,
    /// Measured on the machine itself; the note says how.
    Measured,
    /// No source: a conservative guess.
    Estimate,
}

impl Source {
    /// All sources, the most reliable first.
    pub const ALL: [Self; 4] = [Self::Paper, Self::Vendor, Self::Measured, Self::Estimate];

    /// The word for it in a file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Vendor => "vendor",
            Self::Measured => "measured",
            Self::Estimate => "estimate",
        }
    }
}

/// A value with its source and a note on its origin.
///
/// In a file: `{ cycles = 281, source = "paper", note = "001 Table 4" }`, the
/// first key being the unit's. An estimate also has a range:
/// `{ cycles = 24, range = [12, 48], source = "estimate", note = "an L3 slice" }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure<U: Unit> {
    /// The value, in the unit `U`.
    pub value: U::Value,
    /// The least and the greatest plausible value of an estimate.
    pub range: Option<[U::Value; 2]>,
    /// Its source.
    pub source: Source,
    /// The origin.
    pub note: String,
}

/// A unit of measurement: its key in a file, and which values make sense.
pub trait Unit {
    /// What a value is, once read.
    type Value: Clone + fmt::Debug + PartialEq + Serialize;
    /// What stands in a file.
    type Written: DeserializeOwned;
    /// The key that holds the value.
    const KEY: &'static str;

    /// The value, or what was expected instead.
    ///
    /// # Errors
    /// Says what stands there and what may.
    fn value(written: Self::Written) -> Result<Self::Value, String>;

    /// Whether `one` is at most `other`; none if such values have no order.
    fn is_at_most(one: &Self::Value, other: &Self::Value) -> Option<bool>;
}

/// Defines units with integer values.
macro_rules! whole_numbers {
    ($($(#[$about:meta])* $unit:ident = $key:literal, from $least:literal to $most:literal;)*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $unit;

        impl Unit for $unit {
            type Value = u64;
            type Written = i64;
            const KEY: &'static str = $key;

            fn value(written: i64) -> Result<u64, String> {
                if (($least)..=($most)).contains(&written) {
                    Ok(written.unsigned_abs())
                } else {
                    Err(format!(
                        "found `{} = {written}`, expected {} to {}",
                        $key, $least, $most
                    ))
                }
            }

            fn is_at_most(one: &u64, other: &u64) -> Option<bool> {
                Some(one <= other)
            }
        }
    )*};
}

whole_numbers! {
    /// Time in cycles of the machine's clock.
    Cycles = "cycles", from 0 to 1_000_000_000_i64;
    /// Time in nanoseconds, for what does not follow the clock.
    Nanoseconds = "ns", from 0 to 1_000_000_000_000_i64;
    /// Millions of cycles in a second.
    Megahertz = "mhz", from 1 to 100_000_i64;
    /// How many of something.
    Count = "count", from 0 to 1_000_000_000_000_i64;
}

/// The largest factor: more is a slip of the pen.
const LARGEST: f64 = 1000.0;

/// A share or a factor, zero or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio;

impl Unit for Ratio {
    type Value = f64;
    type Written = f64;
    const KEY: &'static str = "ratio";

    fn value(written: f64) -> Result<f64, String> {
        if (0.0..=LARGEST).contains(&written) {
            Ok(written)
        } else {
            Err(format!(
                "found `ratio = {written}`, expected 0 to {LARGEST}"
            ))
        }
    }

    fn is_at_most(one: &f64, other: &f64) -> Option<bool> {
        Some(one <= other)
    }
}

/// Factors of one or more, each no smaller than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratios;

impl Unit for Ratios {
    type Value = Vec<f64>;
    type Written = Vec<f64>;
    const KEY: &'static str = "ratios";

    fn value(written: Vec<f64>) -> Result<Vec<f64>, String> {
        let grows = written.windows(2).all(|pair| pair[0] <= pair[1]);
        let bounded = written.iter().all(|ratio| (1.0..=LARGEST).contains(ratio));
        if grows && bounded && !written.is_empty() {
            Ok(written)
        } else {
            Err(format!(
                "found `ratios = {written:?}`, expected non-decreasing factors from 1 to {LARGEST}"
            ))
        }
    }

    fn is_at_most(one: &Vec<f64>, other: &Vec<f64>) -> Option<bool> {
        let mut pairs = one.iter().zip(other);
        (one.len() == other.len()).then(|| pairs.all(|(one, other)| one <= other))
    }
}

/// A fact that is a word, such as a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Is<T>(PhantomData<T>);

impl<T: DeserializeOwned + Clone + fmt::Debug + PartialEq + Serialize> Unit for Is<T> {
    type Value = T;
    type Written = T;
    const KEY: &'static str = "is";

    fn value(written: T) -> Result<T, String> {
        Ok(written)
    }

    fn is_at_most(_: &T, _: &T) -> Option<bool> {
        None
    }
}

impl<'de, U: Unit> Deserialize<'de> for Figure<U> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

impl<U: Unit> Serialize for Figure<U> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(U::KEY, &self.value)?;
        if let Some(range) = &self.range {
            map.serialize_entry(RANGE, range)?;
        }
        map.serialize_entry("source", &self.source)?;
        map.serialize_entry("note", &self.note)?;
        map.end()
    }
}

/// The key of an estimate's range.
pub const RANGE: &str = "range";

impl<U: Unit> Figure<U> {
    /// The range, if it fits the value and the source.
    fn ranged(
        written: Option<Vec<U::Written>>,
        value: &U::Value,
        source: Source,
    ) -> Result<Option<[U::Value; 2]>, String> {
        let Some(written) = written else {
            return Ok(None);
        };
        if source != Source::Estimate {
            return Err(format!(
                "found a range of a figure with the source `{}`, expected one of an estimate only: \
                 remove the range, or change the source",
                source.name()
            ));
        }
        let ends = written
            .into_iter()
            .map(U::value)
            .collect::<Result<Vec<_>, _>>()?;
        let count = ends.len();
        let [least, most] = <[U::Value; 2]>::try_from(ends).map_err(|_| {
            format!("found a range of {count} values, expected the least and the greatest")
        })?;
        let order = |one, other| {
            let word = "expected none for a figure without an order: remove the range";
            U::is_at_most(one, other).ok_or_else(|| format!("found a range, {word}"))
        };
        if !order(&least, &most)? {
            return Err(format!(
                "found the range {least:?} to {most:?}, expected the least value first: swap them"
            ));
        }
        if !order(&least, value)? || !order(value, &most)? {
            return Err(format!(
                "found `{} = {value:?}` outside of its range {least:?} to {most:?}, expected it \
                 inside: change the value or the range",
                U::KEY
            ));
        }
        if least == most {
            return Err(format!(
                "found a range from {least:?} to {most:?}, expected two values that differ: remove \
                 the range of a figure that is known"
            ));
        }
        Ok(Some([least, most]))
    }
}

struct Reader<U>(PhantomData<U>);

impl<'de, U: Unit> Visitor<'de> for Reader<U> {
    type Value = Figure<U>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "a figure such as {{ {} = …, source = \"estimate\", note = \"why\" }}",
            U::KEY
        )
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Figure<U>, A::Error> {
        let mut value = None;
        let mut source = None;
        let mut note = None::<String>;
        let mut range = None;
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                key if key == U::KEY => {
                    value = Some(U::value(map.next_value()?).map_err(Error::custom)?);
                }
                RANGE => range = Some(map.next_value()?),
                "source" => source = Some(map.next_value()?),
                "note" => note = Some(map.next_value()?),
                _ => {
                    return Err(Error::custom(format!(
                        "unknown field `{key}`, expected one of `{}`, `{RANGE}`, `source`, `note`",
                        U::KEY
                    )));
                }
            }
        }
        let note = note.ok_or_else(|| Error::missing_field("note"))?;
        if note.trim().is_empty() {
            return Err(Error::custom(
                "found an empty note, expected the origin of the figure",
            ));
        }
        let value = value.ok_or_else(|| Error::missing_field(U::KEY))?;
        let source = source.ok_or_else(|| Error::missing_field("source"))?;
        let range = Figure::<U>::ranged(range, &value, source).map_err(Error::custom)?;
        Ok(Figure {
            value,
            range,
            source,
            note,
        })
    }
}
