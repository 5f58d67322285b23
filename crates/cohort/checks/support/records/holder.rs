//! Checks of the word that names a mutex's holder.

use crate::runner::prelude::*;

models![quick("holder::holders_are_named", SPIN, || {
    records::holders_are_named::<Tas>(2)
}),];

on_machine! {
    _ => [|| records::holders_are_named::<Tas>(4)];
}
