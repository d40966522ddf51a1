// Command empty is what the start of a program is compared with.
package main

func main() {}
