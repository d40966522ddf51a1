#include <errno.h>
#include <unistd.h>

#include "report.h"

void report(uint32_t kind, int32_t value)
{
	struct report r = { kind, value };
	while (write(REPORT_FD, &r, sizeof r) < 0 && errno == EINTR)
		;
}
