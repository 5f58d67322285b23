//! Secure execution: the kernel makes the loader drop `LD_PRELOAD` when a program gains privileges
//! by being executed.

use rustix::fs::{StatVfsMountFlags, getxattr, statvfs};
use rustix::process::{getegid, geteuid, getgid, getuid};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const SET_USER: u32 = 0o4000;
/// Without the group's execute bit, the set-group bit means file locking.
const SET_GROUP: u32 = 0o2010;

/// Checks that executing `path` keeps `LD_PRELOAD`.
///
/// # Errors
/// The reason why it is dropped, and a remedy.
pub fn check(path: &Path) -> Result<(), String> {
    let shown = path.display();
    let refusal = |what: &str| {
        format!(
            "{shown} {what}, so the dynamic loader ignores LD_PRELOAD; run it as that user, or run \
             a copy without the privilege"
        )
    };
    if inert(path) {
        return Ok(());
    }
    let metadata = path
        .metadata()
        .map_err(|error| format!("cannot inspect {shown}: {error}"))?;
    let set_user = metadata.mode() & SET_USER == SET_USER;
    let user = if set_user {
        metadata.uid()
    } else {
        geteuid().as_raw()
    };
    if user != getuid().as_raw() {
        return Err(refusal("gains another user's rights (setuid)"));
    }
    let set_group = metadata.mode() & SET_GROUP == SET_GROUP;
    let group = if set_group {
        metadata.gid()
    } else {
        getegid().as_raw()
    };
    if group != getgid().as_raw() {
        return Err(refusal("gains another group's rights (setgid)"));
    }
    // The super-user already has all capabilities.
    if !getuid().is_root() && has_capabilities(path) {
        return Err(refusal("gains capabilities (`getcap` shows which)"));
    }
    Ok(())
}

/// Whether file privileges have no effect here.
fn inert(path: &Path) -> bool {
    let mount = statvfs(path).is_ok_and(|fs| fs.f_flag.contains(StatVfsMountFlags::NOSUID));
    mount || rustix::thread::no_new_privs().unwrap_or(false)
}

fn has_capabilities(path: &Path) -> bool {
    let mut value = [0_u8; 64];
    getxattr(path, "security.capability", &mut value).is_ok_and(|length| length > 0)
}
