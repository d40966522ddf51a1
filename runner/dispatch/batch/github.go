package batch

import "strings"

// GitHubError is a workflow command of GitHub that marks a line as failed (docs.github.com, "Workflow commands for GitHub
// Actions"), escaped as the runner's ActionCommand reads it. The caller removes control characters.
func GitHubError(title, message string) string {
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	return "::error title=" + property.Replace(title) + "::" + text.Replace(message)
}
