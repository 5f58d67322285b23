//! Compositions built from texts, with a bound of one hand-off, which a second one would exceed.

use crate::locks::catalogue;
use crate::locks::compose::stacked::Text;
use crate::locks::name::Servable;
use crate::locks::recipe::Recipe;

macro_rules! recipes {
    ($($name:ident $text:literal;)+) => {
        $(#[doc = $text]
        #[derive(Debug)]
        pub struct $name;

        impl Text for $name {
            fn recipe() -> Recipe {
                let name = catalogue::read($text).expect("the text is a name");
                match name.servable() {
                    Ok(Servable::Stacked(recipe)) => recipe,
                    other => panic!("the name is no recipe: {other:?}"),
                }
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
