package spans

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// The variables are those of OpenTelemetry's specification (opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables,
// .../protocol/exporter). An empty one is none.

// Asked reports whether the environment asks for spans over OTLP.
func Asked(env func(name string) string) bool {
	exporters := strings.Split(env("OTEL_TRACES_EXPORTER"), ",")
	switch {
	case strings.EqualFold(env("OTEL_SDK_DISABLED"), "true"):
		return false
	case env("OTEL_TRACES_EXPORTER") != "":
		return slices.Contains(exporters, "otlp")
	}
	return Setting(env, "ENDPOINT") != ""
}

// Setting is a setting of the exporter: for traces, or for all signals.
func Setting(env func(name string) string, name string) string {
	if own := env("OTEL_EXPORTER_OTLP_TRACES_" + name); own != "" {
		return own
	}
	return env("OTEL_EXPORTER_OTLP_" + name)
}

const (
	defaultTimeout = 10 * time.Second
	longestTimeout = time.Minute
)

// Timeout is how long spans may be sent. An invalid one is the default.
func Timeout(env func(name string) string) time.Duration {
	ms, err := strconv.ParseInt(Setting(env, "TIMEOUT"), 10, 32)
	if err != nil || ms <= 0 {
		return defaultTimeout
	}
	return min(time.Duration(ms)*time.Millisecond, longestTimeout)
}
