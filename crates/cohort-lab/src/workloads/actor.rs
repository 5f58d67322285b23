//! An actor: a thread that has the data, to which others send what is to be done there, and which
//! answers each of them.

use super::Exclusion;
use cohort::Section;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Builder;

/// What one is sent.
pub struct Letter {
    section: Section<'static>,
    answers: Sender<()>,
}

/// The way to its thread, which ends once nobody can send to it any more.
pub struct Actor(Sender<Letter>);

impl Actor {
    /// One with a thread of its own.
    ///
    /// # Errors
    /// The thread cannot be made.
    pub fn new() -> Result<Self, String> {
        let (sender, letters) = channel::<Letter>();
        let work = move || {
            for letter in letters {
                // SAFETY: this thread alone runs what is sent here, one letter at a time.
                unsafe { letter.section.run() };
                // The sender waits for it.
                let _ = letter.answers.send(());
            }
        };
        let made = Builder::new().name("actor".to_owned()).spawn(work);
        made.map_err(|error| format!("a thread cannot be made: {error}"))?;
        Ok(Self(sender))
    }
}

impl Exclusion for Actor {
    /// One channel for all answers to a thread, which is cheaper than one for each.
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
        // SAFETY: panics are caught; what is captured and returned is `Send`; and this call waits until
        // it has been run.
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
