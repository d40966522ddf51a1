package riverqueue

import (
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
)

// A class is a River queue. The default class has the name that jobs had before classes existed.
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
