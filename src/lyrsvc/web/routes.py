"""Every address the service answers: path, gate, handler; one table."""

from lyrsvc.web import (
    badge_api,
    event_stream,
    health_api,
    history_api,
    key_api,
    library_api,
    log_api,
    metrics,
    openapi,
    provider_api,
    queue_api,
    report_api,
    scan_api,
    settings_api,
    system_api,
    task_api,
    wanted_api,
    webhook_api,
)
from lyrsvc.web.route import Route


def all_routes(*, pages: bool) -> tuple[Route, ...]:
    """Give the table; what belongs to the browser UI is not even loaded while it is off."""
    return (*_API_ROUTES, *_page_routes()) if pages else _API_ROUTES


_API_ROUTES = (
    *health_api.ROUTES,
    *webhook_api.ROUTES,
    *queue_api.ROUTES,
    *wanted_api.ROUTES,
    *history_api.ROUTES,
    *report_api.ROUTES,
    *key_api.ROUTES,
    *badge_api.ROUTES,
    *library_api.ROUTES,
    *scan_api.ROUTES,
    *provider_api.ROUTES,
    *task_api.ROUTES,
    *log_api.ROUTES,
    *settings_api.ROUTES,
    *system_api.ROUTES,
    *event_stream.ROUTES,
    *metrics.ROUTES,
    *openapi.ROUTES,
)


def _page_routes() -> tuple[Route, ...]:
    from lyrsvc.web import (
        account_pages,
        api_reference,
        assets,
        dashboard_page,
        history_page,
        item_page,
        key_pages,
        lane_pages,
        library_pages,
        log_pages,
        queue_page,
        report_pages,
        settings_pages,
        sign_in_pages,
        system_pages,
        task_pages,
        wanted_page,
    )

    return (
        *sign_in_pages.ROUTES,
        *assets.ROUTES,
        *dashboard_page.ROUTES,
        *wanted_page.ROUTES,
        *queue_page.ROUTES,
        *item_page.ROUTES,
        *history_page.ROUTES,
        *report_pages.ROUTES,
        *library_pages.ROUTES,
        *system_pages.ROUTES,
        *lane_pages.ROUTES,
        *task_pages.ROUTES,
        *log_pages.ROUTES,
        *api_reference.ROUTES,
        *settings_pages.ROUTES,
        *key_pages.ROUTES,
        *account_pages.ROUTES,
    )
