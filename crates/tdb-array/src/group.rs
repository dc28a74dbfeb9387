//! Groups: folders that name arrays and other groups as their members.
//!
//! [`OpenOptions::open_group`](crate::OpenOptions::open_group) opens a [`Group`], and
//! [`WriteOptions::open_group`](crate::WriteOptions::open_group) a [`GroupWriter`]. Members may be
//! anywhere: [`Places`] turns a location into a storage.

#[doc(inline)]
pub use tdb_schema::{GroupMember, GroupVersion, ObjectType};
#[doc(inline)]
pub use tdb_snapshot::{Found, Group, Visited, object_type};
#[doc(inline)]
pub use tdb_storage::{LocalPlaces, Places};
#[doc(inline)]
pub use tdb_write::GroupWriter;
