//! The command line: all commands, and the options that each of them takes.

use clap::{Parser, Subcommand};

use crate::browse::BrowseArgs;
use crate::cluster::ClusterArgs;
use crate::copy::CopyArgs;
use crate::create::CreateArgs;
use crate::delete::DeleteArgs;
use crate::dump::DumpArgs;
use crate::evolve::EvolveArgs;
use crate::explain::ExplainArgs;
use crate::export::ExportArgs;
use crate::fragments::FragmentsArgs;
use crate::group::GroupArgs;
use crate::import::ImportArgs;
use crate::info::InfoArgs;
use crate::log::LogArgs;
use crate::maintain::{ConsolidateArgs, VacuumArgs};
use crate::meta::MetaArgs;
use crate::objects::{LsArgs, MvArgs, RmArgs};
use crate::place::StoreArgs;
use crate::publish::PublishArgs;
use crate::read::ReadArgs;
use crate::serve::{ServeArgs, ViewArgs};
use crate::shell::{self, CompletionsArgs, ManArgs};
use crate::show::ShowArgs;
use crate::sql::SqlArgs;
use crate::trace::VerboseArgs;
use crate::verify::VerifyArgs;
use crate::write::WriteArgs;

/// Look at, read, write and maintain TileDB arrays.
#[derive(Debug, Parser)]
#[command(name = "tdb", version, long_version = shell::version(), arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) stores: StoreArgs,
    #[command(flatten)]
    pub(crate) verbose: VerboseArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Info(InfoArgs),
    Read(ReadArgs),
    Show(ShowArgs),
    Explain(ExplainArgs),
    Sql(SqlArgs),
    Cluster(ClusterArgs),
    Dump(DumpArgs),
    Verify(VerifyArgs),
    Group(GroupArgs),
    Meta(MetaArgs),
    Log(LogArgs),
    Fragments(FragmentsArgs),
    Create(CreateArgs),
    Write(WriteArgs),
    Import(ImportArgs),
    Export(ExportArgs),
    Copy(CopyArgs),
    Delete(DeleteArgs),
    Evolve(EvolveArgs),
    Consolidate(ConsolidateArgs),
    Vacuum(VacuumArgs),
    Publish(PublishArgs),
    Serve(ServeArgs),
    View(ViewArgs),
    Ls(LsArgs),
    Rm(RmArgs),
    Mv(MvArgs),
    Browse(BrowseArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

impl Command {
    /// Whether the command only shows what is in an array or a group, so that it may use a cache. A
    /// command that checks or changes files must read the actual files.
    pub(crate) const fn only_shows(&self) -> bool {
        match self {
            // INSERT adds files, and changes none that a cache keeps.
            Self::Info(_)
            | Self::Read(_)
            | Self::Show(_)
            | Self::Explain(_)
            | Self::Export(_)
            | Self::Sql(_)
            | Self::Browse(_)
            | Self::Cluster(_)
            | Self::Serve(_)
            | Self::View(_) => true,
            Self::Group(args) => args.change.is_none(),
            Self::Meta(args) => args.change.is_none(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
