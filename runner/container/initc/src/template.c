/*
 * A template is a Python interpreter that has imported modules, from which analyses are forked into containers of their own
 * (runner/preload/src/fork.c, docs/adr/0038). It is in the supervisor's user and PID namespace, as setns(2) wants it, with no
 * capability, and without the /proc of that namespace, in which it would see other runs.
 */
#include <linux/capability.h>

#include "report.h"
#include "sys.h"

/* drop_capabilities empties all five sets: the bounding one here, the others by capset(2). */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	for (long capability = 0; prctl(PR_CAPBSET_DROP, capability) == 0; capability++)
		;
	return (int)CALL(capset, &header, none);
}

static void default_signals(void)
{
	for (int sig = 1; sig <= LAST_SIGNAL; sig++)
		sigdefault(sig);
	sigsetmask(NO_SIGNALS);
}

int become_template(int audited)
{
	int err = (int)CALL(umount2, "/proc", MNT_DETACH);

	if (!err)
		err = drop_capabilities();
	if (!err)
		err = load_filter();
	if (!err)
		err = audit_template(audited);
	if (!err)
		default_signals();
	return err;
}
