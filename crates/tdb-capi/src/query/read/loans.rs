//! The caller's memory, lent to the engine for the columns of one batch after the other, so that
//! cells are decoded where they are wanted.

use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tdb_array::query::Buffer;

use crate::ffi::Loan;

/// What is on offer, by field.
type Offers = Arc<Mutex<BTreeMap<String, Loan>>>;

/// The loans of a read.
#[derive(Debug, Default)]
pub(super) struct Loans(Offers);

/// The loans of one submit, which end with it.
pub(super) struct Round {
    offers: Offers,
    is_valid: Arc<AtomicBool>,
}

impl Loans {
    /// What the engine asks for memory.
    pub(super) fn lender(&self) -> impl Fn(&str, usize) -> Option<Buffer> + Send + Sync + use<> {
        let offers = self.0.clone();
        move |field, len| {
            let mut offers = offers.lock().unwrap_or_else(PoisonError::into_inner);
            if offers.get(field)?.len() < len {
                return None;
            }
            // Each is lent once. One that lies at an odd address is dropped.
            Buffer::from_memory(Box::new(offers.remove(field)?))
        }
    }

    /// Begins a submit.
    pub(super) fn begin(&self) -> Round {
        Round { offers: self.0.clone(), is_valid: Arc::new(AtomicBool::new(true)) }
    }
}

impl Round {
    /// Whether the loans of this submit may be used.
    pub(super) const fn is_valid(&self) -> &Arc<AtomicBool> {
        &self.is_valid
    }

    /// Offers memory for the column of a field.
    pub(super) fn offer(&self, field: &str, loan: Loan) {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner).insert(field.to_owned(), loan);
    }

    /// Takes back what nobody has asked for.
    pub(super) fn take_back(&self) {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Drop for Round {
    fn drop(&mut self) {
        self.take_back();
        self.is_valid.store(false, Ordering::Release);
    }
}
