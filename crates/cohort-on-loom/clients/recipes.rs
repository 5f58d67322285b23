//! Compositions that are built from texts, with one hand-off, so that a second one shows.

use crate::locks::compose::stacked::{Recipe, Text};

macro_rules! recipes {
    ($($name:ident $text:literal;)+) => {
        $(#[doc = $text]
        #[derive(Debug)]
        pub struct $name;

        impl Text for $name {
            fn recipe() -> Recipe {
                Recipe::read($text).expect("the text is a recipe")
            }
        })+
    };
}

recipes! {
    TicketMcs "clof:ticket-mcs@numa,system/1";
    McsClh "clof:mcs-clh@numa,system/1";
    ClhHemlock "clof:clh-hemlock@numa,system/1";
    HemlockTicket "clof:hemlock-ticket@numa,system/1";
    McsTicketClh "clof:mcs-ticket-clh@core,numa,system/1";
}
