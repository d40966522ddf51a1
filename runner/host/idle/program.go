package idle

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"
)

// mapping is a range of addresses.
type mapping struct{ start, end uintptr }

// unmapProgram unmaps the pages of this program's file. A start touches nearly all of them, a process that waits few.
func unmapProgram() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	return unmap(program)
}

// unmap unmaps the pages of a file, but for those that the kernel could not read from the file again.
func unmap(file string) error {
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer smaps.Close()
	clean, err := cleanMappings(smaps, file)
	if err != nil {
		return err
	}
	for _, m := range clean {
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("madvise: %w", errno)
		}
	}
	return nil
}

// cleanMappings reads the read-only mappings of a file in which no page was ever changed, as those are that have relocations.
// smaps is in the form of /proc/PID/smaps (proc_pid_smaps(5)).
func cleanMappings(smaps io.Reader, file string) (clean []mapping, err error) {
	var m mapping
	readOnly := false
	for lines := bufio.NewScanner(smaps); ; {
		if !lines.Scan() {
			return clean, lines.Err()
		}
		line := lines.Text()
		if found, mode, ok := header(line); ok {
			m, readOnly = found, strings.HasPrefix(mode, "r-") && strings.HasSuffix(line, " "+file)
		}
		if readOnly && strings.HasPrefix(line, "Anonymous:") && strings.Fields(line)[1] == "0" {
			clean = append(clean, m)
		}
	}
}

// header parses the first line of a mapping. The others begin with a capital.
func header(line string) (m mapping, mode string, ok bool) {
	if strings.IndexFunc(line, unicode.IsUpper) == 0 {
		return m, "", false
	}
	n, _ := fmt.Sscanf(line, "%x-%x %s", &m.start, &m.end, &mode)
	return m, mode, n == 3
}
