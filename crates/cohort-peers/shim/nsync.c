/* nsync's mutex, in its shared library. */
#include <nsync.h>
#include "peer.h"

PEER(nsync, nsync_mu, char, nsync_mu_init(l), , nsync_mu_lock(l), nsync_mu_unlock(l))

SHARED(nsync_shared, nsync_mu, nsync_mu_init(l), nsync_mu_rlock(l), nsync_mu_runlock(l),
       nsync_mu_lock(l), nsync_mu_unlock(l))
