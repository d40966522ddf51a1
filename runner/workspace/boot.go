package workspace

import (
	"os"
	"strings"
)

// BootID is random_boot_id of the kernel (proc_sys_kernel(5)); empty if there is none.
func BootID() string {
	raw, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}
