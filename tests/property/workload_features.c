/*
 * Owns the list of the features that random workloads use. Its order is that of the drawing: a new
 * feature goes to the end, so that the older ones are drawn as before.
 */
#include "property/workload_feature.h"

extern const struct workload_feature workload_feature_elastic, workload_feature_barrier,
    workload_feature_cancel, workload_feature_pause, workload_feature_detach,
    workload_feature_delay, workload_feature_group, workload_feature_pump, workload_feature_context,
    workload_feature_priority, workload_feature_lane_limit, workload_feature_failure,
    workload_feature_deadline, workload_feature_options, workload_feature_checks,
    workload_feature_journal, workload_feature_cut;

const struct workload_feature *const workload_features[] = {
    &workload_feature_elastic,  &workload_feature_barrier,    &workload_feature_cancel,
    &workload_feature_pause,    &workload_feature_detach,     &workload_feature_delay,
    &workload_feature_group,    &workload_feature_pump,       &workload_feature_context,
    &workload_feature_priority, &workload_feature_lane_limit, &workload_feature_failure,
    &workload_feature_deadline, &workload_feature_options,    &workload_feature_checks,
    &workload_feature_journal,  &workload_feature_cut,        NULL,
};
