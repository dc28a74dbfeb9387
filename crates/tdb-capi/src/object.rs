//! Arrays and groups as objects of a folder: their types, walks over them.

use std::io::ErrorKind;

use tdb_array::group::{ObjectType, object_type};

use crate::context::Ctx;
use crate::ffi::{Failure, ObjectCallback, Out, Outcome, Raw, Text, call_each};
use crate::place::Place;

/// The number of the walk that visits what is in an object after the object.
const PREORDER: u32 = 0;

impl Place {
    /// The type of the object at a place.
    ///
    /// # Errors
    /// Any I/O error, but for a place where there is nothing.
    pub(crate) fn object_type(&self) -> Result<ObjectType, Failure> {
        match object_type(&*self.storage()?) {
            Ok(found) => Ok(found),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(ObjectType::Invalid)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The arrays and groups in a folder, in the order of their URIs; where there is no folder,
    /// there are none.
    fn objects(&self) -> Result<Vec<(Self, ObjectType)>, Failure> {
        let mut objects = Vec::new();
        let listed = match self.list() {
            Err(_) if !self.is_folder() => Vec::new(),
            listed => listed?,
        };
        for found in listed.into_iter().filter(|found| found.is_folder) {
            let place = self.below(found.uri.rsplit('/').next().unwrap_or_default());
            let object = place.object_type()?;
            if object != ObjectType::Invalid {
                objects.push((place, object));
            }
        }
        Ok(objects)
    }

    fn walk_objects(&self, order: u32, all: &mut Vec<(String, ObjectType)>) -> Outcome {
        for (place, object) in self.objects()? {
            if order == PREORDER {
                all.push((place.uri(), object));
                place.walk_objects(order, all)?;
            } else {
                place.walk_objects(order, all)?;
                all.push((place.uri(), object));
            }
        }
        Ok(())
    }

    fn check_object(&self, what: &str) -> Outcome {
        if self.object_type()? == ObjectType::Invalid {
            return Err(Failure::of(
                "Object",
                format!("Cannot {what} object '{}'; Invalid TileDB object", self.uri()),
            ));
        }
        Ok(())
    }
}

/// Checks that there is an array.
///
/// # Errors
/// There is none.
pub(crate) fn check_exists(place: &Place) -> Outcome {
    if place.object_type()? == ObjectType::Array {
        return Ok(());
    }
    Err(Failure::of("Array", format!("Cannot open array; Array does not exist. ({})", place.uri())))
}

/// Why something with the array of a place failed: if there is no array, that is the reason, and
/// programs look for its words.
pub(crate) fn or_missing(place: &Place, error: impl Into<Failure>) -> Failure {
    check_exists(place).err().unwrap_or_else(|| error.into())
}

exported! {
    fn tiledb_object_type(ctx: Ctx, path: Text, object: Out<u32>) -> Code for ctx {
        let found = Place::of(ctx.get()?, path.get("path")?)?.object_type()?;
        object.set(u32::from(found.code()))
    }

    fn tiledb_object_remove(ctx: Ctx, path: Text) -> Code for ctx {
        let place = Place::of(ctx.get()?, path.get("path")?)?;
        place.check_object("remove")?;
        place.remove_folder()
    }

    fn tiledb_object_move(ctx: Ctx, old: Text, new: Text) -> Code for ctx {
        let (old, new) = (Place::of(ctx.get()?, old.get("old_path")?)?, Place::of(ctx.get()?, new.get("new_path")?)?);
        old.check_object("move")?;
        old.move_to(&new)
    }

    fn tiledb_object_walk(ctx: Ctx, path: Text, order: u32, callback: ObjectCallback, data: Raw) -> Code for ctx {
        let call = callback.ok_or("Cannot initiate walk; Invalid callback function")?;
        let mut all = Vec::new();
        Place::of(ctx.get()?, path.get("path")?)?.walk_objects(order, &mut all)?;
        call_each(all, |text, _, object| call(text, u32::from(object.code()), data))
    }

    fn tiledb_object_ls(ctx: Ctx, path: Text, callback: ObjectCallback, data: Raw) -> Code for ctx {
        let call = callback.ok_or("Cannot initiate object ls; Invalid callback function")?;
        let found = Place::of(ctx.get()?, path.get("path")?)?.objects()?;
        let items = found.into_iter().map(|(place, object)| (place.uri(), object));
        call_each(items, |text, _, object| call(text, u32::from(object.code()), data))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::testing::Variable;

    #[test]
    fn a_folder_that_is_not_there_has_no_objects() {
        let mut context = Variable::null();
        assert_eq!(
            crate::context::tiledb_ctx_alloc(
                Variable::<crate::config::ConfigObject>::null().get(),
                context.out()
            ),
            0
        );
        let context = context.get();
        let context = context.get().unwrap();
        for uri in ["mem://nothing", "/nothing/there"] {
            let mut all = Vec::new();
            let place = Place::of(context, uri).unwrap();
            assert!(place.list().is_err(), "{uri}");
            place.walk_objects(PREORDER, &mut all).unwrap();
            assert_eq!(all, [], "{uri}");
        }
    }
}
