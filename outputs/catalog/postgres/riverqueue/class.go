package riverqueue

import (
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// A class is a queue of River's. That of the default has the name which jobs had before there were classes.
const (
	defaultQueue = "analyses"
	classPrefix  = defaultQueue + "-"
)

func queueOf(class string) string {
	if class == "" || class == queue.DefaultClass {
		return defaultQueue
	}
	return classPrefix + class
}

func classOf(queueName string) string {
	if queueName == defaultQueue {
		return queue.DefaultClass
	}
	return strings.TrimPrefix(queueName, classPrefix)
}
