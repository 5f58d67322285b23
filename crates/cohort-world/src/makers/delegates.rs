//! The locks of the catalogue that only delegate critical sections.

use super::locks::delegation::InTwoForms;
use super::locks::for_each_delegate;
use crate::raw::{AnyDelegate as _, Capable, brought};
use crate::{Room, Tested};
use cohort::Thresholds;
use cohort::catalogue::read_delegate;
use std::sync::Arc;

macro_rules! delegate_maker {
    ($($name:ident, $delegate:ty, $about:literal, $source:literal, $capabilities:tt;)+) => {
        /// Creates the lock of that name, with those thresholds if it is tunable; `None` if the
        /// catalogue has none.
        pub fn make(
            room: &mut dyn Room,
            name: &str,
            threads: usize,
            spins: bool,
            thresholds: &Thresholds,
        ) -> Option<Arc<dyn Tested>> {
            let name = read_delegate(name)?.ok()?;
            let thresholds = &name.over(thresholds);
            match name.info.identifier {
                $(stringify!($name) if spins => {
                    type Spinning = <$delegate as InTwoForms>::Spinning;
                    let delegate = (Capable::<Spinning>::MAKE)(thresholds);
                    let capable = (Capable::<Spinning>::WITHIN, Capable::<Spinning>::SERVER);
                    Some(brought(room, delegate, threads, capable))
                })+
                $(stringify!($name) => {
                    let delegate = (Capable::<$delegate>::MAKE)(thresholds);
                    let capable = (Capable::<$delegate>::WITHIN, Capable::<$delegate>::SERVER);
                    Some(brought(room, delegate, threads, capable))
                })+
                _ => None,
            }
        }
    };
}
for_each_delegate!(delegate_maker);
