//! Current domains: the part of a domain that is in use.

use tdb_array::schema::{CurrentDomain, Domain, Range};

use crate::context::Ctx;
use crate::dump;
use crate::ffi::{Failure, Freed, In, Object, Out, OutHandle};
use crate::ndrectangle::{Rectangle, RectangleObject};
use crate::shared::Shared;
use crate::string::StringObject;

/// The number of the only kind that there is: a rectangle.
const NDRECTANGLE: u32 = 0;

/// A current domain behind a pointer; it may be empty.
pub(crate) struct CurrentDomainObject(pub(crate) Shared<Option<Rectangle>>);

impl Object for CurrentDomainObject {
    const NAME: &'static str = "current domain";
}

impl CurrentDomainObject {
    /// The current domain of a schema, or an empty one.
    pub(crate) fn of(current: Option<&CurrentDomain>, domain: &Domain) -> Self {
        let rectangle = current.map(|current| Rectangle::of(domain.clone(), &current.ranges));
        Self(Shared::new(rectangle))
    }

    /// The ranges, for a schema; nothing for an empty one.
    ///
    /// # Errors
    /// A dimension has no range.
    pub(crate) fn ranges(&self) -> Result<Option<Vec<Range>>, Failure> {
        let Some(rectangle) = self.0.copy() else { return Ok(None) };
        let ranges = rectangle.ranges.into_iter().collect::<Option<Vec<Range>>>();
        ranges.map(Some).ok_or_else(|| failure("The rectangle has a dimension without a range"))
    }
}

fn failure(text: &str) -> Failure {
    Failure::of("CurrentDomain", text)
}

exported! {
    fn tiledb_current_domain_create(ctx: Ctx, current: OutHandle<CurrentDomainObject>) -> Code for ctx {
        current.put(CurrentDomainObject(Shared::new(None)))
    }

    fn tiledb_current_domain_free(current: Freed<CurrentDomainObject>) -> Code for nobody {
        current.free();
        Ok(())
    }

    fn tiledb_current_domain_set_ndrectangle(ctx: Ctx, current: In<CurrentDomainObject>, rectangle: In<RectangleObject>) -> Code for ctx {
        let rectangle = rectangle.get()?.0.copy();
        let mut current = current.get()?.0.lock();
        if current.is_some() {
            return Err(failure("Unable to set an NDRectangle on a non-empty CurrentDomain object."));
        }
        *current = Some(rectangle);
        Ok(())
    }

    fn tiledb_current_domain_get_ndrectangle(ctx: Ctx, current: In<CurrentDomainObject>, rectangle: OutHandle<RectangleObject>) -> Code for ctx {
        let found = current.get()?.0.copy();
        let found = found.ok_or_else(|| failure("Unable to get the NDRectangle from an empty CurrentDomain."))?;
        rectangle.put(RectangleObject(Shared::new(found)))
    }

    fn tiledb_current_domain_get_is_empty(ctx: Ctx, current: In<CurrentDomainObject>, is_empty: Out<u32>) -> Code for ctx {
        is_empty.set(u32::from(current.get()?.0.lock().is_none()))
    }

    fn tiledb_current_domain_get_type(ctx: Ctx, current: In<CurrentDomainObject>, kind: Out<u32>) -> Code for ctx {
        if current.get()?.0.lock().is_none() {
            return Err(failure("Unable to get the type of an empty CurrentDomain."));
        }
        kind.set(NDRECTANGLE)
    }

    fn tiledb_current_domain_dump_str(ctx: Ctx, current: In<CurrentDomainObject>, text: OutHandle<StringObject>) -> Code for ctx {
        let found = current.get()?.0.copy();
        let shown = match &found {
            None => dump::current_domain(None, &Domain::default()),
            Some(rectangle) => dump::current_domain(Some(&rectangle.ranges), &rectangle.domain),
        };
        text.put(StringObject(shown))
    }
}
