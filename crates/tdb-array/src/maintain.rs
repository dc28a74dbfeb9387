//! Many files made into few, replaced files removed, and everything checked.
//!
//! [`Consolidation`] and [`Vacuum`] first make a [`MaintenancePlan`]; [`verify`] decodes every
//! chunk of an array and returns the [`Problem`]s.

#[doc(inline)]
pub use tdb_maintain::{
    Consolidation, MaintainedObject, MaintenancePlan, MaintenanceProgress, MaintenanceStep, PlannedFile,
    Problem, Stored, Vacuum, Verification, verify, verify_watched, verify_with,
};
