//! Locks that know where their holders run, made of locks that do not (Chehab et al. 2021 §4,
//! Dice et al. 2015).

pub mod abortables;
pub mod aclof;
mod any;
pub mod bypass;
pub mod clof;
pub mod cohorting;
pub mod counted;
mod forward;
#[cfg(not(world = "loom"))]
pub mod fresh;
pub mod gated;
pub mod generated;
mod level;
pub mod on_pages;
mod plan;
mod recipe_built;
pub mod stacked;
mod tree;

pub use aclof::AClof;
pub use any::{Any, AnyContext};
pub use bypass::{Adaptive, Bypass, Everybody, Fast, WithBypass};
pub use clof::Clof;
pub use cohort_raw::recipe::Bound;
pub use cohorting::{ACBoBo, ACBoClh, CBoBo, CBoMcs, CMcsMcs, CPtlTkt, CTktMcs, CTktTkt};
pub use counted::Counted;
pub use gated::Gated;
pub use level::{Blade, CacheGroup, Chosen, Core, Numa, Package, Place, StaticLevel};
pub use on_pages::OnPages;
pub use plan::{AbortableVisitor, Composed, Plan, Shareable, Visitor};
pub use recipe_built::RecipeBuilt;
pub use stacked::Stacked;
pub(crate) use tree::{INNER, INNER_NODES, LEAVES, NODE_LEAVES, Tree};
