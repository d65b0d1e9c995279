//go:build kubernetes1.35

package main

import "k8s.io/kube-scheduler/framework"

// Where Kubernetes keeps what a plugin is written with, from 1.35 on.
type (
	CycleState = framework.CycleState
	Handle     = framework.Handle
	Plugin     = framework.Plugin
	Status     = framework.Status
)

const (
	Unschedulable = framework.Unschedulable
	Wait          = framework.Wait
)

var (
	AsStatus  = framework.AsStatus
	NewStatus = framework.NewStatus
)
