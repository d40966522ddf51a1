package main

import (
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
)

// retentionFlags are the flags of gc that a config file may set too.
func retentionFlags() []cli.Flag { return options.List((&options.Retention{}).Flags()...) }
