//! The two sides of a chunk while its filters are undone: its data and its metadata.

use tdb_codec::{Reader, to_u64};

use crate::error::{ErrorKind, Kind};
use crate::scratch::Charge;

/// Where the data is between two steps.
pub(super) enum Place {
    /// Still in the chunk.
    Input,
    /// In the current buffer, with this length.
    Buffer(usize),
    /// In the caller's output.
    Out,
}

/// A chunk's data, which moves through two buffers to the output.
pub(super) struct Data<'a, 'b> {
    pub(super) input: &'a [u8],
    pub(super) current: &'a mut Vec<u8>,
    pub(super) next: &'a mut Vec<u8>,
    pub(super) out: Option<&'a mut [u8]>,
    pub(super) place: Place,
    pub(super) charge: &'a Charge<'b>,
}

impl Data<'_, '_> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self.place {
            Place::Input => self.input,
            Place::Buffer(len) => self.current.get(..len).unwrap_or_default(),
            Place::Out => self.out.as_deref().unwrap_or_default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.bytes().len()
    }

    /// Lets `work` write `len` bytes from the data, into the output if this is the last move.
    pub(super) fn transform(
        &mut self,
        len: usize,
        last_move: bool,
        work: impl FnOnce(&[u8], &mut [u8]) -> Kind<()>,
    ) -> Kind<()> {
        let src = match self.place {
            Place::Input => self.input,
            Place::Buffer(len) => self.current.get(..len).unwrap_or_default(),
            // Never happens: after its last move, data is only changed in place.
            Place::Out => return Err(ErrorKind::WrongLength { expected: 0, found: to_u64(len) }),
        };
        match self.out.as_deref_mut().filter(|_| last_move) {
            Some(out) if out.len() == len => {
                work(src, out)?;
                self.place = Place::Out;
            }
            Some(out) => {
                return Err(ErrorKind::WrongLength { expected: to_u64(out.len()), found: to_u64(len) });
            }
            None => {
                work(src, self.charge.grow(self.next, len)?)?;
                core::mem::swap(&mut self.current, &mut self.next);
                self.place = Place::Buffer(len);
            }
        }
        Ok(())
    }

    /// Lets `work` change the data in place. If the data is still in the chunk, `work` gets the
    /// chunk's bytes as its source and writes to a new place.
    pub(super) fn in_place(
        &mut self,
        last_move: bool,
        work: impl FnOnce(Option<&[u8]>, &mut [u8]) -> Kind<()>,
    ) -> Kind<()> {
        match self.place {
            Place::Out => work(None, self.out.as_deref_mut().unwrap_or_default()),
            Place::Buffer(len) => work(None, self.current.get_mut(..len).unwrap_or_default()),
            Place::Input => self.transform(self.input.len(), last_move, |src, dst| work(Some(src), dst)),
        }
    }

    /// Copies data that no filter has moved.
    pub(super) fn finish(mut self) -> Kind<()> {
        match self.place {
            Place::Out => Ok(()),
            Place::Input | Place::Buffer(_) => self.transform(self.len(), true, |src, dst| {
                dst.copy_from_slice(src);
                Ok(())
            }),
        }
    }
}

/// A chunk's metadata: each step reads its block from the front; compressors replace all of it.
pub(super) struct Metadata<'a> {
    pub(super) input: &'a [u8],
    pub(super) current: &'a mut Vec<u8>,
    pub(super) next: &'a mut Vec<u8>,
    /// Length in the current buffer, once a compressor has restored metadata.
    pub(super) buffered: Option<usize>,
    /// Number of bytes that have been read.
    pub(super) read: usize,
}

impl Metadata<'_> {
    pub(super) fn reader(&self) -> Reader<'_> {
        let bytes = match self.buffered {
            None => self.input,
            Some(len) => self.current.get(..len).unwrap_or_default(),
        };
        Reader::with_offset(bytes.get(self.read..).unwrap_or_default(), to_u64(self.read))
    }

    /// Checks that every byte has been read.
    pub(super) fn finish(&self) -> Kind<()> {
        Ok(self.reader().finish("chunk metadata")?)
    }

    /// Lets `work` read a block from the front.
    pub(super) fn block(&mut self, work: impl FnOnce(&mut Reader<'_>) -> Kind<()>) -> Kind<()> {
        let mut reader = self.reader();
        let before = reader.remaining();
        work(&mut reader)?;
        let read = before.saturating_sub(reader.remaining());
        self.read = self.read.saturating_add(read);
        Ok(())
    }

    /// Lets `work` read everything that is left and write the metadata of the earlier filters;
    /// `work` returns the length of that metadata.
    pub(super) fn absorb(&mut self, work: impl FnOnce(Reader<'_>, &mut Vec<u8>) -> Kind<usize>) -> Kind<()> {
        let bytes = match self.buffered {
            None => self.input,
            Some(len) => self.current.get(..len).unwrap_or_default(),
        };
        let rest = bytes.get(self.read..).unwrap_or_default();
        let len = work(Reader::with_offset(rest, to_u64(self.read)), self.next)?;
        core::mem::swap(&mut self.current, &mut self.next);
        self.buffered = Some(len);
        self.read = 0;
        Ok(())
    }
}
