//! A mutex's lock described by a text. The catalogue's locks are in [`cohort::host::served`].

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

/// Composition described by a text; [`set_recipe`] runs before it serves.
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

/// Sets the recipe of [`COMPOSITION`]. A thread that then publishes the choice publishes the recipe
/// too. Concurrent calls set the same recipe.
pub fn set_recipe(recipe: &Recipe) {
    for (place, word) in RECIPE.iter().zip(recipe.to_words()) {
        place.store(word, Relaxed);
    }
}

/// The recipe passed to [`set_recipe`].
pub struct Said;

impl Text for Said {
    fn recipe() -> Recipe {
        Recipe::of_words(RECIPE.each_ref().map(|word| word.load(Relaxed)))
    }
}
