//! An actor: a thread that owns the data, executes the operations sent to it, and answers each of
//! them.

use super::Exclusion;
use cohort::Section;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;

/// Message to an actor.
pub struct Letter {
    section: Section<'static>,
    answers: Sender<()>,
}

/// Handle of an actor's thread, which ends with its last sender.
pub struct Actor(Sender<Letter>);

impl Actor {
    /// Starts an actor with a thread of its own.
    ///
    /// # Errors
    /// The thread cannot be made.
    pub fn new() -> Result<Self, String> {
        let (sender, letters) = channel::<Letter>();
        let work = move || {
            for letter in letters {
                // SAFETY: only this thread runs what is sent here, one message at a time.
                unsafe { letter.section.run() };
                // The sender waits for it.
                let _ = letter.answers.send(());
            }
        };
        let made = Builder::new().name("actor".to_owned()).spawn(work);
        made.map_err(|error| format!("cannot create a thread: {error}"))?;
        Ok(Self(sender))
    }
}

impl Exclusion for Actor {
    /// One channel for all answers to a thread: cheaper than one for each.
    type Token = (Sender<()>, Receiver<()>);

    fn token(&self) -> Self::Token {
        channel()
    }

    #[inline]
    fn with<R: Send>(
        &self,
        (answers, answered): &mut Self::Token,
        section: impl FnOnce() -> R + Send,
    ) -> R {
        let (mut section, mut ended) = (Some(section), None);
        let mut whole = || {
            if let Some(section) = section.take() {
                ended = Some(catch_unwind(AssertUnwindSafe(section)));
            }
        };
        // SAFETY: panics are caught; what is captured and returned is `Send`; and this call waits
        // for its completion.
        let section = unsafe { Section::new(&mut whole).outliving() };
        let answers = answers.clone();
        if self.0.send(Letter { section, answers }).is_err() || answered.recv().is_err() {
            unreachable!("its thread lives as long as this");
        }
        match ended {
            Some(Ok(result)) => result,
            Some(Err(panic)) => resume_unwind(panic),
            None => unreachable!("it answers when it has run a section"),
        }
    }
}
