//! The spin-only forms of the locks that are compiled in two.

use super::{Anderson, Bo, Hemlock, Mcs, Ptl, Tas, Ticket, Ttas};
use crate::wait::{Parking, SpinOnly};
use cohort_raw::TwoForms;

impl<P: Parking> TwoForms for Tas<P> {
    type Spinning = Tas<SpinOnly>;
}

impl<P: Parking> TwoForms for Ttas<P> {
    type Spinning = Ttas<SpinOnly>;
}

impl<P: Parking> TwoForms for Bo<P> {
    type Spinning = Bo<SpinOnly>;
}

impl<P: Parking, const UNIT: u64> TwoForms for Ticket<P, UNIT> {
    type Spinning = Ticket<SpinOnly, UNIT>;
}

impl<P: Parking, const SLOTS: usize> TwoForms for Ptl<SLOTS, P> {
    type Spinning = Ptl<SLOTS, SpinOnly>;
}

impl<P: Parking> TwoForms for Mcs<P> {
    type Spinning = Mcs<SpinOnly>;
}

impl<P: Parking, const CTR: bool> TwoForms for Hemlock<CTR, P> {
    type Spinning = Hemlock<CTR, SpinOnly>;
}

impl<P: Parking, const SLOTS: usize> TwoForms for Anderson<SLOTS, P> {
    type Spinning = Anderson<SLOTS, SpinOnly>;
}
