//! Objects behind pointers: boxed, and tagged with their type.
#![expect(unsafe_code, reason = "the pointers of the caller are followed here")]

use core::any::TypeId;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::Failure;

/// The first word of a handle that is in use; any other value is not a handle, or one that was
/// freed.
const LIVE: u64 = 0x7464_625f_6361_7069;

/// What handles may point to. Functions get shared references only, from any thread.
pub(crate) trait Object: Send + Sync + 'static {
    /// The word for it in errors.
    const NAME: &'static str;
}

/// The memory that a pointer of the C API points to.
#[repr(C)]
pub(crate) struct Handle<T> {
    live: AtomicU64,
    kind: TypeId,
    kept: Kept,
    value: T,
}

/// Texts and values whose addresses the caller was given. They last as long as the handle, and as
/// the one that it was got from.
type Kept = Arc<Mutex<BTreeSet<Box<[u64]>>>>;

impl<T: Object> Handle<T> {
    fn new(value: T) -> Box<Self> {
        Self::sharing(value, Kept::default())
    }

    fn sharing(value: T, kept: Kept) -> Box<Self> {
        Box::new(Self { live: AtomicU64::new(LIVE), kind: TypeId::of::<T>(), kept, value })
    }
}

/// An argument that is a pointer to a handle.
#[repr(transparent)]
pub(crate) struct In<T>(*const Handle<T>);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T: Object> In<T> {
    /// Where it points to.
    pub(super) const fn address(self) -> *const Handle<T> {
        self.0
    }

    /// The object.
    ///
    /// # Errors
    /// The pointer is null, or the handle is of another type or was freed, as far as its memory
    /// shows.
    pub(crate) fn get(&self) -> Result<&T, Failure> {
        self.handle().map(|handle| &handle.value)
    }

    /// The object, or nothing for null.
    ///
    /// # Errors
    /// As [`Self::get`], but for null.
    pub(crate) fn optional(&self) -> Result<Option<&T>, Failure> {
        if self.0.is_null() { Ok(None) } else { self.get().map(Some) }
    }

    /// Keeps bytes as long as the handle lasts, and returns their address, which any value of up to
    /// eight bytes may have. Equal bytes are kept once.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub(crate) fn keep(&self, bytes: &[u8]) -> Result<*const u8, Failure> {
        let mut words = Vec::with_capacity(bytes.len() / 8 + 1);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            words.push(u64::from_le_bytes(word));
        }
        // Even no bytes have an address.
        words.push(0);
        let mut kept = self.handle()?.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.get(words.as_slice()) {
            return Ok(known.as_ptr().cast());
        }
        let words = words.into_boxed_slice();
        let address = words.as_ptr().cast();
        kept.insert(words);
        Ok(address)
    }

    fn handle(&self) -> Result<&Handle<T>, Failure> {
        if self.0.is_null() {
            return Err(format!("Invalid TileDB {}: it is null", T::NAME).into());
        }
        let invalid = || Failure::new(format!("Invalid TileDB {}", T::NAME));
        if !self.0.is_aligned() {
            return Err(invalid());
        }
        // SAFETY: the caller promises a pointer that one of our functions returned. All handles
        // begin with these two words, whatever their type, and what follows is only looked at when
        // both agree.
        let (live, kind) = unsafe {
            let live = &*ptr::addr_of!((*self.0).live);
            (live.load(Ordering::Acquire), ptr::addr_of!((*self.0).kind).read())
        };
        if live != LIVE || kind != TypeId::of::<T>() {
            return Err(invalid());
        }
        // SAFETY: as above; the handle has this type, and lasts until the caller frees it.
        Ok(unsafe { &*self.0 })
    }
}

/// An argument through which a function returns a new handle.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct OutHandle<T: Object>(*mut *mut Handle<T>);

impl<T: Object> OutHandle<T> {
    /// Whether the caller wants a handle.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.0.is_null()
    }

    /// Boxes the object, and gives it to the caller.
    ///
    /// # Errors
    /// The pointer is null.
    pub(crate) fn put(&self, value: T) -> Result<(), Failure> {
        self.write(|| Box::into_raw(Handle::new(value)))
    }

    /// Boxes the object, which is a part of another one: what the caller is given addresses of
    /// lasts as long as the other one, too, because callers free parts while they use these.
    ///
    /// # Errors
    /// The pointer is null, or `whole` is.
    pub(crate) fn put_part<U: Object>(&self, whole: In<U>, value: T) -> Result<(), Failure> {
        let kept = whole.handle()?.kept.clone();
        self.write(|| Box::into_raw(Handle::sharing(value, kept)))
    }

    /// Gives null to the caller.
    ///
    /// # Errors
    /// The pointer is null.
    pub(crate) fn put_null(&self) -> Result<(), Failure> {
        self.write(ptr::null_mut)
    }

    fn write(&self, address: impl FnOnce() -> *mut Handle<T>) -> Result<(), Failure> {
        if self.0.is_null() {
            return Err("Invalid output pointer for object".into());
        }
        // SAFETY: the caller promises memory for a pointer.
        unsafe { self.0.write_unaligned(address()) };
        Ok(())
    }
}

/// The argument of a function that frees a handle.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Freed<T: Object>(*mut *mut Handle<T>);

impl<T: Object> Freed<T> {
    /// Frees the handle, and makes the caller's pointer null. Nothing happens for null, a handle of
    /// another type, and one that was freed; the result says whether there was one.
    pub(crate) fn free(&self) -> bool {
        if self.0.is_null() {
            return false;
        }
        let mut was_live = false;
        // SAFETY: the caller promises a pointer to its pointer.
        let handle = In(unsafe { self.0.read_unaligned() }.cast_const());
        if let Ok(found) = handle.handle() {
            let live = &found.live;
            // Of two threads that free a handle, one does.
            was_live = live.compare_exchange(LIVE, 0, Ordering::AcqRel, Ordering::Acquire).is_ok();
            if was_live {
                // SAFETY: `OutHandle::put` boxed it, and nobody else frees it.
                drop(unsafe { Box::from_raw(handle.0.cast_mut()) });
            }
        }
        // SAFETY: as above.
        unsafe { self.0.write_unaligned(ptr::null_mut()) };
        was_live
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! Handles for tests, which play the part of a caller in C.

    use super::{Freed, Handle, In, Object, OutHandle};

    /// A pointer variable of the caller.
    pub(crate) struct Variable<T: Object>(*mut Handle<T>);

    impl<T: Object> Variable<T> {
        pub(crate) fn null() -> Self {
            Self(core::ptr::null_mut())
        }

        pub(crate) fn of(value: T) -> Self {
            Self(Box::into_raw(Handle::new(value)))
        }

        pub(crate) fn out(&mut self) -> OutHandle<T> {
            OutHandle(&raw mut self.0)
        }

        pub(crate) fn freed(&mut self) -> Freed<T> {
            Freed(&raw mut self.0)
        }

        pub(crate) fn get(&self) -> In<T> {
            In(self.0)
        }

        pub(crate) fn as_other<U: Object>(&self) -> In<U> {
            In(self.0.cast())
        }

        pub(crate) fn is_null(&self) -> bool {
            self.0.is_null()
        }
    }

    impl<T: Object> Drop for Variable<T> {
        fn drop(&mut self) {
            self.freed().free();
        }
    }
}
