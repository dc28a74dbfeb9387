//! Many files made into few, replaced files removed, and everything checked.
//!
//! [`Consolidation`], [`Vacuum`] and [`FragmentRemoval`] first make a [`MaintenancePlan`];
//! [`consolidation_groups`] says which fragments should become one; [`verify`] decodes every chunk
//! of an array and returns the [`Problem`]s.

#[doc(inline)]
pub use tdb_maintain::{
    Consolidation, FragmentRemoval, MaintainedObject, MaintenancePlan, MaintenanceProgress, MaintenanceStep,
    PlannedFile, Problem, Stored, Vacuum, Verification, consolidation_groups, verify, verify_watched,
    verify_with,
};
