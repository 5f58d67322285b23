//! Checks of the cohort locks; `clof` has most of them.

use crate::runner::prelude::*;

as_in! { "clof": CBoBo, CTktTkt, CPtlTkt, CBoMcs, CTktMcs, CMcsMcs }

impl Checked for ACBoBo {
    type Smallest = SmallAClof<ABo<MayPark>, Bo<MayPark>>;
    const STANDARD: Standard = Standard {
        preemptions: 1,
        destroyed: false,
        ..ALL
    };
}

impl Checked for ACBoClh {
    type Smallest = SmallAClof<AClh<MayPark>, Bo<MayPark>>;
    const STANDARD: Standard = Standard {
        preemptions: 1,
        destroyed: false,
        ..ALL
    };
}
