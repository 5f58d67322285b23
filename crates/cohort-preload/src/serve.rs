//! A lock that a text describes, in a mutex's bytes; those of the catalogue are in
//! [`cohort::host::served`].

use cohort::RawLock;
use cohort::catalogue::own_pool_bytes;
use cohort::compose::stacked::{Stacked, Text};
use cohort::host::served::{Needs, Service};
use cohort::host::{Fat, Holding, Pool, Pooled, Seldom};
use cohort::recipe::Recipe;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

type Composed = Stacked<Said>;
type Record = Holding<<Composed as RawLock>::Context>;

static RECORDS: Seldom<Record> = Seldom::new();
static FATS: Seldom<Fat<Composed>> = Seldom::new();
static STOCK: Pooled<Composed, &Seldom<Record>, &Seldom<Fat<Composed>>> =
    Pooled::new(&RECORDS, &FATS);

/// A composition that a text describes: [`set_recipe`] has said which, before this serves.
pub static COMPOSITION: Service = cohort::service_of_fat_pool!(
    &STOCK,
    cohort::host::served::inflated::lock,
    || Needs {
        bytes: RECORDS.bytes() + FATS.bytes() + own_pool_bytes(),
        inflated: FATS.used(),
    },
    |_by| {
        #[cfg(feature = "compositions")]
        {
            RECORDS.move_caches(_by);
            FATS.move_caches(_by);
        }
    }
);

/// The recipe, in words.
static RECIPE: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Says what [`COMPOSITION`] is; a thread that publishes afterwards that it serves
/// publishes this too.  Threads that say it at once say the same.
pub fn set_recipe(recipe: &Recipe) {
    for (place, word) in RECIPE.iter().zip(recipe.to_words()) {
        place.store(word, Relaxed);
    }
}

/// The recipe that [`set_recipe`] was told.
pub struct Said;

impl Text for Said {
    fn recipe() -> Recipe {
        Recipe::of_words(RECIPE.each_ref().map(|word| word.load(Relaxed)))
    }
}
