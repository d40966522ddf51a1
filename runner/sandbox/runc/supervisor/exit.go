package supervisor

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// exit ends this process, and with it everything below it. The end of the launcher is no error.
func exit(err error) {
	if err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
